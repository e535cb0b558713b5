"""What a ramdisk does to the machine that it runs on."""
