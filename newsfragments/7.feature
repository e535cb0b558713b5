The ramdisk agent: `twistd rescriptum ramdisk` joins from the kernel's command line, wipes disks and certifies it, writes images
so that nothing half-written boots, seeds them, starts them by kexec, and says what a machine is made of; `ramdisk/build.sh` makes its image.
