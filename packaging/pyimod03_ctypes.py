"""Takes the place of the boot loader's module of this name, which imports ctypes at every start.

It would let ``ctypes.CDLL`` look among the bundled libraries first. flower needs none of them by name, and a workflow
that asks for a library of the system's must not be given ours.
"""


def install() -> None:
    """Called by the boot loader; there is nothing to do."""
