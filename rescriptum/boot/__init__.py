"""What every way of booting a machine shares: loaders, scripts, the links of the way."""
