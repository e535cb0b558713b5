#!/bin/sh
# What a DHCP server gave, made so.
[ "$1" = bound ] || [ "$1" = renew ] || exit 0
ip address replace "$ip/${mask:-24}" dev "$interface"

# Where the machine booted from is the way to its site; other networks come behind it, and one that
# names no servers takes none away.
card=/sys/class/net/$interface
case " $(cat /proc/cmdline) " in
  *" bc.mac=$(cat "$card/address") "*) rank=0 ;;
  *) rank=1 ;;
esac
for each in $router; do
  metric=$((rank * 10000 + $(cat "$card/ifindex")))
  ip route replace default via "$each" dev "$interface" onlink metric $metric
  break
done
{
  for each in $dns; do echo "nameserver $each"; done
  [ -z "$domain" ] || printf 'search %s\n' "$domain"
} >"/run/resolv-$rank-$interface"
cat /run/resolv-* >"/etc/resolv.conf.$interface"
mv "/etc/resolv.conf.$interface" /etc/resolv.conf
touch /run/addressed
