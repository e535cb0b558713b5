/* dhcpblast.c - bounded load generator: DHCP DISCOVERs of machines that boot, in a closed loop.
 *
 * Public domain (CC0): use, change and hand on as you like; no warranty.
 *
 * Build:  gcc -O2 -Wall -o dhcpblast dhcpblast.c
 * Usage:  dhcpblast -i IFACE [-n TOTAL] [-o OUTSTANDING] [-m MACHINES] [-a ARCH] [-d MAX_SECONDS]
 *   Broadcasts from 0.0.0.0:68 to 255.255.255.255:67 on IFACE, which must be a veth of network
 *   namespaces of your own: it asks in the name of machines that do not exist.
 *   -o  that many are unanswered at any time (default 32)
 *   -m  MACs 02:52:00:00:00:00 and up, in turn (default 1000); each DISCOVER has its own xid
 *   -a  option 93 (default 7, x64 UEFI); option 60 is PXEClient:Arch:NNNNN:UNDI:003016
 * One that is not answered for a second is lost, and another one goes out.
 * Prints one JSON object. Exit 0 when each was answered by an offer of its own.
 * Bounded: TOTAL (<= 2000000) and MAX_SECONDS (default 20, <= 120).
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <net/if.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 2000000, DISCOVER = 1, OFFER = 2, FIXED = 240 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static uint8_t *put(uint8_t *at, int code, const void *value, int length) {
    *at++ = code;
    *at++ = length;
    memcpy(at, value, length);
    return at + length;
}

/* The order and the bytes are edk2's. Returns the length; *own is where the SMBIOS UUID is. */
static int discover(uint8_t *packet, int arch, int *own) {
    static const uint8_t asked[] = {1,  2,  3,  4,  5,  6,  12, 13, 15, 17, 18,  22,  23,  28,  40,  41,  42,  43,
                                    50, 51, 54, 58, 59, 60, 66, 67, 97, 128, 129, 130, 131, 132, 133, 134, 135};
    uint8_t type = DISCOVER, size[] = {5, 0xc0}, uuid[17] = {0}, undi[] = {1, 3, 16}, codes[] = {arch >> 8, arch};
    char vendor[40];
    uint8_t *at = packet + FIXED;
    memset(packet, 0, 576);
    memcpy(packet, "\1\1\6", 3);
    packet[10] = 0x80;
    memcpy(packet + 236, "\x63\x82\x53\x63", 4);
    at = put(at, 53, &type, 1);
    at = put(at, 57, size, 2);
    at = put(at, 55, asked, sizeof asked);
    *own = at - packet + 3;
    at = put(at, 97, uuid, sizeof uuid);
    at = put(at, 94, undi, sizeof undi);
    at = put(at, 93, codes, sizeof codes);
    at = put(at, 60, vendor, snprintf(vendor, sizeof vendor, "PXEClient:Arch:%05d:UNDI:003016", arch));
    *at++ = 255;
    return at - packet;
}

static int is_offer(const uint8_t *reply, ssize_t length) {
    if (length < FIXED + 4 || reply[0] != 2)
        return 0;
    for (ssize_t at = FIXED; at + 2 < length && reply[at] != 255; at += reply[at] ? 2 + reply[at + 1] : 1)
        if (reply[at] == 53)
            return reply[at + 2] == OFFER;
    return 0;
}

int main(int argc, char **argv) {
    const char *iface = NULL;
    long total = 20000, outstanding = 32, machines = 1000, seconds = 20, arch = 7;
    for (int option; (option = getopt(argc, argv, "i:n:o:m:a:d:")) != -1;) {
        long value = optarg ? atol(optarg) : 0;
        switch (option) {
        case 'i': iface = optarg; break;
        case 'n': total = value; break;
        case 'o': outstanding = value; break;
        case 'm': machines = value; break;
        case 'a': arch = value; break;
        case 'd': seconds = value; break;
        default: iface = NULL; optind = argc; break;
        }
    }
    if (!iface || total < 1 || total > MOST || outstanding < 1 || outstanding > 4096 || machines < 1 ||
        machines > 1 << 20 || seconds < 1 || seconds > 120 || arch < 0 || arch > 0xffff) {
        fprintf(stderr, "see the head of dhcpblast.c\n");
        return 2;
    }
    struct sockaddr_in me = {.sin_family = AF_INET, .sin_port = htons(68)};
    struct sockaddr_in everybody = {.sin_family = AF_INET, .sin_port = htons(67), .sin_addr.s_addr = INADDR_BROADCAST};
    int fd = socket(AF_INET, SOCK_DGRAM, 0), one = 1, room = 4 << 20;
    setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &one, sizeof one);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, iface, strlen(iface) + 1) || bind(fd, (void *)&me, sizeof me)) {
        perror(iface);
        return 2;
    }
    double *sent_at = calloc(total, sizeof *sent_at), *latency = calloc(total, sizeof *latency);
    uint8_t *answered = calloc(total, 1), packet[576], reply[2048];
    int own, length = discover(packet, arch, &own);
    long sent = 0, offers = 0, other = 0, again = 0, waiting = 0;
    double began = now(), last = began, end = began + seconds;
    while (offers < total && last < end) {
        while (sent < total && waiting < outstanding) {
            uint32_t xid = htonl(0x52000000u + sent), machine = htonl(sent % machines);
            memcpy(packet + 4, &xid, 4);
            memcpy(packet + 28, "\x02\x52", 2);
            memcpy(packet + 30, &machine, 4);
            memcpy(packet + own, &machine, 4);
            sent_at[sent] = now();
            if (sendto(fd, packet, length, 0, (void *)&everybody, sizeof everybody) < 0) {
                perror("sendto");
                return 2;
            }
            sent++, waiting++;
        }
        struct pollfd ready = {fd, POLLIN, 0};
        if (poll(&ready, 1, 1000) == 0) { /* what is out is lost */
            if (sent == total || now() > end)
                break;
            waiting = 0;
            continue;
        }
        for (int burst = 0; burst < 64; burst++) {
            ssize_t got = recv(fd, reply, sizeof reply, MSG_DONTWAIT);
            if (got < 0)
                break;
            uint32_t xid = 0;
            if (got >= 8)
                memcpy(&xid, reply + 4, 4);
            uint32_t number = ntohl(xid) - 0x52000000u;
            last = now();
            if (!is_offer(reply, got) || number >= (uint32_t)sent)
                other++;
            else if (answered[number])
                again++;
            else {
                answered[number] = 1;
                latency[offers++] = last - sent_at[number];
                if (waiting)
                    waiting--;
            }
        }
    }
    qsort(latency, offers, sizeof *latency, ascending);
    double median = offers ? latency[offers / 2] : 0, slow = offers ? latency[offers * 99 / 100] : 0;
    printf("{\"sent\": %ld, \"offers\": %ld, \"lost\": %ld, \"other\": %ld, \"again\": %ld, \"offers_per_s\": %.0f, "
           "\"p50_us\": %.1f, \"p99_us\": %.1f, \"medians_per_s\": %.1f}\n",
           sent, offers, sent - offers, other, again, offers / (last - began + 1e-9), median * 1e6, slow * 1e6,
           median ? 1 / median : 0);
    return offers == total ? 0 : 1;
}
