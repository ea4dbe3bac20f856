"""The bounds of a tool process: L1 limits for every one, an L2 cage for programs that come with a request.

limits        resource limits of a tool process (L1)
usage         memory and writes of a group of processes
kernel_files  small files of the kernel, read and written whole
quota         the limits of a cage that are exceeded
levels        the layer that holds here, found by a trial at the agent's start
escapes       the program of that trial, which tries each way out
cage          the record of one cage
confine       the process around a caged program, which makes the cage from `layers`
confinement   the folders to which the process of a file tool is held, without a cage
"""
