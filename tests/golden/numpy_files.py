"""Writes tests/golden/numpy: files that numpy itself makes, for read_npy and read_npz. Reads the files there that write_npz made, as numpy would."""
import os

import numpy as np

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "numpy")
INTEGERS = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")


def reals():
    return np.array([[0.5, -1.25, 3.0], [65504.0, 2.0**-24, -0.0]])


def cube():
    return np.arange(24, dtype="i4").reshape(2, 3, 4)


def kinds():
    """Every kind that is read, in both byte orders, in C and Fortran order."""
    arrays = {}
    for order in "<>":
        for kind in ("f2", "f4", "f8"):
            arrays[f"{order}{kind}"] = reals().astype(order + kind)
        for kind in INTEGERS:
            low, high = np.iinfo(kind).min, min(np.iinfo(kind).max, 2**63 - 1)
            arrays[f"{order}{kind}"] = np.array([low, 0, 1, high], dtype=order + kind)
    arrays["bool"] = np.array([[True], [False]])
    arrays["scalar"] = np.array(2.5)
    arrays["empty"] = np.zeros((0, 3), dtype="f4")
    arrays["fortran"] = np.asfortranarray(cube())
    arrays["fortran_big"] = np.asfortranarray(reals().astype(">f4"))
    arrays["a/b"] = cube()[:, ::2, 1:3]
    return arrays


def ours():
    """What the test of write_npz writes."""
    return {"w": reals().astype("f4"), "d": reals()[:, :2], "ids": np.array([3, -1, 2**62]), "s": np.array(0.1), "none": np.zeros((2, 0), "f4"),
            "größe": np.array([1.0], "f4")}


def write():
    os.makedirs(FOLDER, exist_ok=True)
    np.savez(os.path.join(FOLDER, "kinds.npz"), **kinds())
    np.savez_compressed(os.path.join(FOLDER, "deflated.npz"), w=np.repeat(reals().astype("f4"), 50, axis=0), ids=np.arange(100))
    np.save(os.path.join(FOLDER, "f4.npy"), reals().astype("f4"))
    np.save(os.path.join(FOLDER, "i8.npy"), np.array([3, -1, 2**62]))
    np.save(os.path.join(FOLDER, "f8.npy"), np.array(0.1))
    for version in ((2, 0), (3, 0)):
        with open(os.path.join(FOLDER, f"version_{version[0]}.npy"), "wb") as file:
            np.lib.format.write_array(file, cube(), version=version)


def check():
    for name in ("ours.npz", "ours_deflated.npz"):
        read = np.load(os.path.join(FOLDER, name), allow_pickle=False)
        wanted = ours()
        assert sorted(read.files) == sorted(wanted), (name, read.files)
        for key, array in wanted.items():
            same = read[key].dtype == array.dtype and read[key].shape == array.shape and read[key].tobytes() == array.tobytes()
            assert same, f"{name}: numpy reads another {key}: {read[key]!r}"
        assert read.zip.testzip() is None, name
    print(f"numpy: version {np.__version__} reads ours.npz and ours_deflated.npz as they were written")


if __name__ == "__main__":
    write()
    check()
