"""A BMC that is none: Redfish over TLS with whichever vendors' manners are switched on."""
