/* Tells of AMX where a hypervisor does not: cc -O2 -shared -fPIC -o cpuid.so benchmarks/cpuid.c,
 * then LD_PRELOAD=./cpuid.so bert4so train ...
 *
 * Some virtual machines say that the processor has AMX (leaf 7 of cpuid), but leave empty the leaves
 * that give the sizes of its tiles (1d and 1e), without which oneDNN, by which PyTorch multiplies
 * in bf16, ends with an illegal instruction. Here cpuid is made to fault, and answered by hand.
 * For Linux on x86-64 with AMX only.
 */
#define _GNU_SOURCE
#include <cpuid.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define ARCH_SET_CPUID 0x1012
#define TILES 0x1d
#define PRODUCTS 0x1e

static void answer(int number, siginfo_t *info, void *given)
{
    greg_t *registers = ((ucontext_t *)given)->uc_mcontext.gregs;
    const unsigned char *code = (const unsigned char *)registers[REG_RIP];
    unsigned leaf = registers[REG_RAX], part = registers[REG_RCX];
    unsigned a, b, c, d;

    (void)info;
    if (code[0] != 0x0f || code[1] != 0xa2) { /* not cpuid: a fault like any other */
        signal(number, SIG_DFL);
        return;
    }
    syscall(SYS_arch_prctl, ARCH_SET_CPUID, 1);
    __cpuid_count(leaf, part, a, b, c, d);
    syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0);
    if (leaf == TILES && part == 0) { /* one palette */
        a = 1;
        b = c = d = 0;
    } else if (leaf == TILES && part == 1) { /* 8 tiles of 1 KB, 16 rows of 64 bytes */
        a = 0x04002000;
        b = 0x00080040;
        c = 0x10;
        d = 0;
    } else if (leaf == PRODUCTS && part == 0) { /* 16 rows by 64 bytes */
        b = 0x4010;
        a = c = d = 0;
    }
    registers[REG_RAX] = a;
    registers[REG_RBX] = b;
    registers[REG_RCX] = c;
    registers[REG_RDX] = d;
    registers[REG_RIP] += 2;
}

__attribute__((constructor)) static void begin(void)
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_sigaction = answer;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &action, NULL);
    if (syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0))
        fputs("cpuid.so: this kernel cannot make cpuid fault\n", stderr);
}
