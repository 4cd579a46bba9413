"""Run a command whose Jupyter kernels start at once: each is a fork of one process that has imported the libraries.

    python tools/forked.py COMMAND ...

A page's kernel spends five seconds on imports before its first line, half as much as a page takes.  While the command
runs, its kernel `python3` is `forked.py --kernel`, which starts in 30 ms: it hands its arguments, folder, environment
and streams to the process that has imported everything, and passes on interrupts and its own end.  Where a process
cannot be forked safely, on anything but Linux, the command runs with kernels as they are.
"""

import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

ADDRESS = "SHALLOW_KERNELS"  # of the waiting process, in the environment of the command
INTERRUPT = b"i"


def main(command: list[str]) -> int:
    """Run the command, and a kernel for each that it starts; its exit status."""
    if sys.platform != "linux":
        return subprocess.call(command)
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
        server.bind(address := f"{folder}/kernels.socket")
        server.listen()
        server.settimeout(0.1)
        specification = Path(folder, "kernels", "python3", "kernel.json")
        specification.parent.mkdir(parents=True)
        client = [sys.executable, "-I", "-S", os.path.abspath(__file__), "--kernel", "-f", "{connection_file}"]
        client.append("--log-level=ERROR")  # every kernel would warn that what it says to this machine is not encrypted
        specification.write_text(
            json.dumps({"argv": client, "display_name": "Python 3 (ipykernel)", "language": "python"})
        )
        running = subprocess.Popen(command, env=os.environ | {ADDRESS: address, "JUPYTER_PATH": folder})
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # from the keyboard: the command's to handle
        preload(running)
        gc.freeze()  # what is imported is looked through by no kernel's collector, so its pages stay shared
        kernels = set()
        while running.poll() is None:
            kernels -= {kernel for kernel in kernels if os.waitpid(kernel, os.WNOHANG)[0]}
            try:
                asked, _ = server.accept()
            except TimeoutError:
                continue
            if not (child := os.fork()):
                server.close()
                serve(asked)
            asked.close()
            kernels.add(child)
    return running.returncode


def preload(running: subprocess.Popen) -> None:
    """Import what pages import while a command runs; no thread is started, so that fork is safe."""
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # or the debugger of kernels prints four lines of warning
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"  # as in a kernel
    import quick_drawing

    sys.path.pop(0)  # the folder of this file
    os.environ["JPY_PARENT_PID"] = str(os.getpid())  # whose end a kernel does not survive
    library = Path(__file__).parents[1] / "lib"
    modules = ["ipykernel.kernelapp", "ipykernel.debugger", "matplotlib.pyplot", "numba", "scipy.stats", "torch"]
    modules += ["xarray", "netCDF4", "h5netcdf"]
    for module in sorted((library / "shallow").rglob("[!_]*.py")):
        if "ipywidgets" not in module.read_text(encoding="utf-8"):  # which must find a kernel
            modules.append(".".join(module.relative_to(library).with_suffix("").parts))
    modules += [f"experiments.{one.parent.name}.recorded" for one in library.parent.glob("experiments/*/recorded.py")]
    for name in modules:
        if running.poll() is None:
            importlib.import_module(name)
    importlib.import_module("numba.core.registry").cpu_target.target_context.refresh()  # loads what it compiles with
    quick_drawing.install()


def serve(client: socket.socket) -> None:
    """Become the kernel that a client asks for, in its folder, with its environment and streams, and end with it."""
    from ipykernel import kernelapp

    client.settimeout(None)
    request, streams, *_ = socket.recv_fds(client, 1 << 18, 3)
    arguments, folder, environment = json.loads(request)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["ipykernel_launcher", *arguments]

    def follow() -> None:
        while client.recv(1) == INTERRUPT:
            os.kill(os.getpid(), signal.SIGINT)
        os._exit(0)

    threading.Thread(target=follow, daemon=True).start()
    try:
        kernelapp.launch_new_instance()
    finally:
        os._exit(0)


def kernel(arguments: list[str]) -> None:
    """What Jupyter starts and sees as the kernel: until either ends, it stands for the fork."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
        server.connect(os.environ[ADDRESS])
        signal.signal(signal.SIGINT, lambda *_: server.send(INTERRUPT))
        request = json.dumps([arguments, os.getcwd(), dict(os.environ)]).encode()
        socket.send_fds(server, [request], [0, 1, 2])
        with suppress(ConnectionResetError):  # the fork has ended with an interrupt unread
            server.recv(1)


if __name__ == "__main__":
    if sys.argv[1] == "--kernel":
        kernel(sys.argv[2:])
    else:
        sys.exit(main(sys.argv[1:]))
