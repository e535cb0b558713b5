"""The one way to BMCs: Redfish by our own client, IPMI and others by drivers."""
