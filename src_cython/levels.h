/* Functions that return 1 if this processor and its operating system have a SIMD level, else 0. */
#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))
#define HAS(feature) __builtin_cpu_supports(feature)
#if !defined(__clang__) && __GNUC__ >= 12
#define HAS_V3 HAS("x86-64-v3")
#else  /* a compiler without a test for x86-64-v3: a processor with these features has all that the level needs */
#define HAS_V3 (HAS("avx2") && HAS("fma") && HAS("bmi") && HAS("bmi2"))
#endif
static int has_v3(void)
{
    __builtin_cpu_init();
    return HAS_V3 ? 1 : 0;
}
static int has_v4(void)
{
    return has_v3() && HAS("avx512f") && HAS("avx512bw") && HAS("avx512cd") && HAS("avx512dq")
           && HAS("avx512vl");
}
static int has_vnni(void) { return has_v4() && HAS("avx512vnni"); }
#else
static int has_v3(void) { return 0; }
static int has_v4(void) { return 0; }
static int has_vnni(void) { return 0; }
#endif

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
static int has_dotprod(void) { return getauxval(AT_HWCAP) >> 20 & 1; } /* HWCAP bit 20: arm64 dot products of bytes */
#elif defined(__aarch64__) && defined(__APPLE__)
#include <sys/sysctl.h>
static int has_dotprod(void)
{
    int has = 0;
    size_t size = sizeof has;
    return sysctlbyname("hw.optional.arm.FEAT_DotProd", &has, &size, NULL, 0) == 0 && has;
}
#else
static int has_dotprod(void) { return 0; }
#endif
