/* tftpload.c - bounded concurrent TFTP read load generator (RFC 1350, 2347, 2348, 2349, 7440).
 *
 * Public domain (CC0): use, change and hand on as you like; no warranty.
 *
 * Build:  gcc -O2 -Wall -o tftpload tftpload.c
 * Usage:  tftpload -f NAME [-h 127.0.0.1] [-p 69] [-r REFFILE] [-b BLKSIZE] [-w WINDOW]
 *                  [-n TOTAL] [-c CONCURRENCY] [-T RETRY_MS] [-d MAX_SECONDS]
 *                  [-l LOSS_PERMILLE] [-s SEED] [-A] [-G] [-B] [-S] [-X]
 *   -b 0   send no blksize option (so 512);   -w 0  send no windowsize option (lockstep)
 *   -r     compare every byte received with REFFILE
 *   -l     drop this many of 1000 received DATA packets (tests loss recovery)
 *   -A     each of the clients has a loopback address of its own, as machines have
 *   -G     receive with UDP_GRO (takes client cost off the scales)
 *   -B     busy-poll instead of sleeping in epoll (takes wake-up latency off the scales)
 *   -S     stagger: start transfers 1 ms apart rather than all at once
 *   -X     allow a target outside 127.0.0.0/8 (your own network namespaces only)
 * Prints one JSON object.  Exit 0 when every transfer completed and matched.
 * Bounded: at most TOTAL (<= 1000000) transfers and MAX_SECONDS (default 30, <= 600) seconds.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/udp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#ifndef UDP_GRO
#define UDP_GRO 104
#endif
#ifndef SOL_UDP
#define SOL_UDP 17
#endif

enum { BATCH = 64, BUFSZ = 65536 };
static const char *host = "127.0.0.1", *fname, *reffile;
static int port = 69, blk = 0, win = 0, conc = 1, retry_ms = 1000, maxs = 30, loss = 0, gro = 0, busy = 0, stagger = 0, any = 0, own = 0;
static long total = 1;
static struct sockaddr_in srv;
static uint8_t *ref; static size_t reflen;

typedef struct {
    int fd, connected, blksz, winsz, inwin, started, gapacked, tries;
    uint16_t last;            /* last in-order block, mod 65536 */
    uint64_t nblocks; size_t pos;
    double t0, deadline;
    uint8_t out[600]; int outlen;   /* last packet sent: the request until something came, then an ACK */
} xfer;

static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
static xfer *slots; static double *lat; static long ndone, nfail, nstarted, nretry, npkts, noack, nactive, ndup;
static uint64_t bytes, blocks; static int ep;
static uint8_t (*bufs)[BUFSZ];
static char firsterr[200];

static void fail(xfer *x, const char *why, int wl) {
    if (!firsterr[0]) { snprintf(firsterr, sizeof firsterr, "%.*s", wl, why); for (char *c = firsterr; *c; c++) if (*c == '"' || *c == '\\' || *c < 32) *c = ' '; }
    nfail++; nactive--; close(x->fd); x->fd = -1;
}
static void finish(xfer *x) {
    if (ref && x->pos != reflen) { fail(x, "length mismatch", 15); return; }
    lat[ndone++] = now() - x->t0; bytes += x->pos; blocks += x->nblocks; nactive--; close(x->fd); x->fd = -1;
}
static void xsend(xfer *x) {
    x->deadline = now() + retry_ms / 1000.0;
    if (x->connected) { if (send(x->fd, x->out, x->outlen, 0) < 0 && errno == ECONNREFUSED) {} }
    else sendto(x->fd, x->out, x->outlen, 0, (void *)&srv, sizeof srv);
}
static void xack(xfer *x) { x->out[0] = 0; x->out[1] = 4; x->out[2] = x->last >> 8; x->out[3] = x->last; x->outlen = 4; x->inwin = 0; xsend(x); }
static void start(int i) {
    xfer *x = &slots[i]; memset(x, 0, sizeof *x);
    x->fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    if (x->fd < 0) { perror("socket"); exit(2); }
    int v = 1 << 21; setsockopt(x->fd, SOL_SOCKET, SO_RCVBUF, &v, sizeof v);
    if (gro) { v = 1; setsockopt(x->fd, SOL_UDP, UDP_GRO, &v, sizeof v); }
    struct sockaddr_in me = { .sin_family = AF_INET, .sin_addr.s_addr = any ? INADDR_ANY : htonl(INADDR_LOOPBACK + (own ? 65536 + 2 * i : 0)) };
    bind(x->fd, (void *)&me, sizeof me);
    struct epoll_event e = { .events = EPOLLIN, .data.u32 = i }; epoll_ctl(ep, EPOLL_CTL_ADD, x->fd, &e);
    x->blksz = 512; x->winsz = 1;
    uint8_t *p = x->out; *p++ = 0; *p++ = 1; p = (uint8_t *)stpcpy((char *)p, fname) + 1; p = (uint8_t *)stpcpy((char *)p, "octet") + 1;
    if (blk || win) { p = (uint8_t *)stpcpy((char *)p, "tsize") + 1; p = (uint8_t *)stpcpy((char *)p, "0") + 1; }
    if (blk) { p = (uint8_t *)stpcpy((char *)p, "blksize") + 1; p += sprintf((char *)p, "%d", blk) + 1; }
    if (win) { p = (uint8_t *)stpcpy((char *)p, "windowsize") + 1; p += sprintf((char *)p, "%d", win) + 1; }
    x->outlen = p - x->out; x->t0 = now(); nstarted++; nactive++; xsend(x);
}
/* one datagram; returns 0 when the transfer ended */
static int packet(xfer *x, uint8_t *d, int n, struct sockaddr_in *from) {
    npkts++;
    if (n < 4) return 1;
    if (!x->connected) { connect(x->fd, (void *)from, sizeof *from); x->connected = 1; }
    int op = d[0] << 8 | d[1];
    if (op == 5) { fail(x, (char *)d + 4, n - 4); return 0; }
    if (op == 6) {
        if (x->started) return 1;
        x->started = 1; noack++; char *p = (char *)d + 2, *end = (char *)d + n;
        while (p < end) {
            char *k = p; p += strnlen(p, end - p) + 1; if (p >= end) break;
            char *v = p; p += strnlen(p, end - p) + 1;
            if (!strcasecmp(k, "blksize")) x->blksz = atoi(v);
            else if (!strcasecmp(k, "windowsize")) x->winsz = atoi(v);
            else if (!strcasecmp(k, "tsize") && ref && (size_t)atoll(v) != reflen) { fail(x, "tsize mismatch", 14); return 0; }
        }
        xack(x); return 1;
    }
    if (op != 3) return 1;
    if (loss && random() % 1000 < loss) return 1;
    x->started = 1; uint16_t b = d[2] << 8 | d[3]; int len = n - 4;
    if (b != (uint16_t)(x->last + 1)) {   /* out of order: tell the sender where we are, once a gap */
        ndup++;
        if (!x->gapacked && (uint16_t)(b - x->last) < 0x8000 && b != x->last) { x->gapacked = 1; xack(x); }
        return 1;
    }
    x->gapacked = 0;
    if (len > x->blksz) { fail(x, "oversized block", 15); return 0; }
    if (ref && (x->pos + len > reflen || memcmp(ref + x->pos, d + 4, len))) { fail(x, "content mismatch", 16); return 0; }
    x->pos += len; x->last = b; x->nblocks++; x->tries = 0;
    if (len < x->blksz) { xack(x); finish(x); return 0; }
    if (++x->inwin >= x->winsz) xack(x); else x->deadline = now() + retry_ms / 1000.0;
    return 1;
}
static void readable(int i) {
    xfer *x = &slots[i];
    static struct mmsghdr mm[BATCH]; static struct iovec iov[BATCH]; static struct sockaddr_in from[BATCH]; static char ctl[BATCH][64];
    for (int round = 0; round < 4 && x->fd >= 0; round++) {
        int want = x->winsz > 1 ? BATCH : 1;
        for (int k = 0; k < want; k++) {
            iov[k].iov_base = bufs[k]; iov[k].iov_len = BUFSZ; memset(&mm[k], 0, sizeof mm[k]);
            mm[k].msg_hdr.msg_iov = &iov[k]; mm[k].msg_hdr.msg_iovlen = 1;
            if (!x->connected) { mm[k].msg_hdr.msg_name = &from[k]; mm[k].msg_hdr.msg_namelen = sizeof from[k]; }
            if (gro) { mm[k].msg_hdr.msg_control = ctl[k]; mm[k].msg_hdr.msg_controllen = 64; }
        }
        int n = recvmmsg(x->fd, mm, want, MSG_DONTWAIT, NULL);
        if (n <= 0) { if (n < 0 && errno == ECONNREFUSED) continue; return; }
        for (int k = 0; k < n; k++) {
            int len = mm[k].msg_len, seg = len;
            if (gro) for (struct cmsghdr *c = CMSG_FIRSTHDR(&mm[k].msg_hdr); c; c = CMSG_NXTHDR(&mm[k].msg_hdr, c))
                if (c->cmsg_level == SOL_UDP && c->cmsg_type == UDP_GRO) seg = *(int *)CMSG_DATA(c);
            for (int o = 0; o < len; o += seg) if (!packet(x, bufs[k] + o, len - o < seg ? len - o : seg, &from[k])) return;
        }
        if (n < want || want == 1) return;
    }
}
static int cmp(const void *a, const void *b) { double x = *(double *)a, y = *(double *)b; return x < y ? -1 : x > y; }

int main(int ac, char **av) {
    int o; long seed = 1;
    while ((o = getopt(ac, av, "h:p:f:r:b:w:n:c:T:d:l:s:AGBSX")) != -1) switch (o) {
        case 'h': host = optarg; break; case 'p': port = atoi(optarg); break; case 'f': fname = optarg; break;
        case 'r': reffile = optarg; break; case 'b': blk = atoi(optarg); break; case 'w': win = atoi(optarg); break;
        case 'n': total = atol(optarg); break; case 'c': conc = atoi(optarg); break; case 'T': retry_ms = atoi(optarg); break;
        case 'd': maxs = atoi(optarg); break; case 'l': loss = atoi(optarg); break; case 's': seed = atol(optarg); break;
        case 'A': own = 1; break; case 'G': gro = 1; break; case 'B': busy = 1; break; case 'S': stagger = 1; break; case 'X': any = 1; break;
        default: fprintf(stderr, "see the head of tftpload.c for usage\n"); return 2; }
    if (!fname || strlen(fname) > 400) { fprintf(stderr, "-f NAME needed (at most 400 characters)\n"); return 2; }
    if (total < 1 || total > 1000000 || conc < 1 || conc > 4096 || maxs < 1 || maxs > 600) { fprintf(stderr, "out of bounds\n"); return 2; }
    srandom(seed);
    srv = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(port) };
    if (inet_pton(AF_INET, host, &srv.sin_addr) != 1) { fprintf(stderr, "bad IPv4 address\n"); return 2; }
    if (!any && ntohl(srv.sin_addr.s_addr) >> 24 != 127) { fprintf(stderr, "loopback only (see -X)\n"); return 2; }
    if (reffile) { int fd = open(reffile, O_RDONLY); struct stat st; if (fd < 0 || fstat(fd, &st)) { perror(reffile); return 2; }
        reflen = st.st_size; ref = mmap(0, reflen ? reflen : 1, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0); }
    struct rlimit rl = { 65536, 65536 }; setrlimit(RLIMIT_NOFILE, &rl);
    if (conc > total) conc = total;
    slots = calloc(conc, sizeof *slots); lat = calloc(total, sizeof *lat); bufs = malloc((size_t)BATCH * BUFSZ); memset(bufs, 0, (size_t)BATCH * BUFSZ);
    for (int i = 0; i < conc; i++) slots[i].fd = -1;
    ep = epoll_create1(0);
    double t0 = now(), end = t0 + maxs, nextscan = t0 + 0.05; int timedout = 0;
    for (int i = 0; i < conc && !stagger; i++) start(i);
    static struct epoll_event ev[512];
    while (nactive || nstarted < total) {
        int n = epoll_wait(ep, ev, 512, busy ? 0 : stagger && nstarted < total ? 1 : 50);
        for (int k = 0; k < n; k++) { int i = ev[k].data.u32; if (slots[i].fd >= 0) readable(i);
            if (slots[i].fd < 0 && nstarted < total && !stagger) start(i); }
        double t = now();
        if (stagger) for (int i = 0; i < conc && nstarted < total && t - t0 >= nstarted * 0.001; i++) if (slots[i].fd < 0) start(i);
        if (t > nextscan) { nextscan = t + 0.02;
            for (int i = 0; i < conc; i++) if (slots[i].fd >= 0 && t > slots[i].deadline) {
                if (++slots[i].tries > 12) { fail(&slots[i], "gave up after retries", 21); if (nstarted < total) start(i); }
                else { nretry++; slots[i].gapacked = 0; if (slots[i].started) xack(&slots[i]); else xsend(&slots[i]); } } }   /* say again what came last */
        if (t > end) { timedout = 1; break; }
    }
    double el = now() - t0; struct rusage ru; getrusage(RUSAGE_SELF, &ru);
    qsort(lat, ndone, sizeof *lat, cmp);
#define P(q) (ndone ? lat[(long)((ndone - 1) * (q))] * 1e3 : 0)
    printf("{\"tool\":\"tftpload\",\"file\":\"%s\",\"blksize\":%d,\"windowsize\":%d,\"concurrency\":%d,\"done\":%ld,\"failed\":%ld,\"unfinished\":%ld,"
           "\"seconds\":%.4f,\"MBps\":%.2f,\"transfers_per_s\":%.1f,\"us_per_block\":%.2f,\"p50_ms\":%.2f,\"p99_ms\":%.2f,\"max_ms\":%.2f,"
           "\"oacks\":%ld,\"packets\":%ld,\"out_of_order\":%ld,\"client_retries\":%ld,\"client_cpu_s\":%.3f,\"timed_out\":%d,\"error\":\"%s\"}\n",
           fname, blk, win, conc, ndone, nfail, total - ndone - nfail, el, bytes / el / 1e6, ndone / el, blocks ? el * 1e6 / blocks : 0,
           P(.5), P(.99), P(1), noack, npkts, ndup, nretry,
           ru.ru_utime.tv_sec + ru.ru_stime.tv_sec + (ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) * 1e-6, timedout, firsterr);
    return ndone == total ? 0 : 1;
}
