"""Our hot paths beside their peers, measured in the same run; see ``docs/tftp.md`` and others."""
