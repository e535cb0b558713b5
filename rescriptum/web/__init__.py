"""HTTP as the boot server speaks it: routes, ranges, files sent without copying."""
