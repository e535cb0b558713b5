#!/bin/sh
# What a DHCP server gave, made so.
[ "$1" = bound ] || [ "$1" = renew ] || exit 0
ip address replace "$ip/${mask:-24}" dev "$interface"
for each in $router; do
  ip route replace default via "$each" dev "$interface" metric "$(cat "/sys/class/net/$interface/ifindex")"
  break
done
for each in $dns; do echo "nameserver $each"; done >/etc/resolv.conf
[ -n "$domain" ] && echo "search $domain" >>/etc/resolv.conf
touch /run/addressed
