# The SIMD levels that this processor and its operating system support, found by code compiled at the baseline level,
# and a description of how the package was built.

cdef extern from "build_info.h":
    const char* FASTCLF_BUILD_INFO

cdef extern from "levels.h":
    bint has_v3()
    bint has_v4()
    bint has_vnni()
    bint has_dotprod()


def supported():
    """The names of the SIMD levels that this computer can run, weakest first."""
    levels = ["baseline"]
    if has_v3():
        levels.append("x86-64-v3")
    if has_v4():
        levels.append("x86-64-v4")
    if has_vnni():
        levels.append("x86-64-v4-vnni")
    if has_dotprod():
        levels.append("arm64-dotprod")
    return levels


def build_info():
    """The description of this build that setup.py wrote, as a JSON string."""
    return FASTCLF_BUILD_INFO.decode()
