"""IPMI by ipmitool: for BMCs without Redfish."""
