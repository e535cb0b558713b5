Unattended installers get their answers on any path, chosen by the MAC address, UUID, serial number or other name that a request carries; `rescriptum render` shows what a machine would get.
