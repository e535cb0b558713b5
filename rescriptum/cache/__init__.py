"""The image cache of a site: pulled once and verified, served to machines under grants."""
