"""What the documents' own public programs computed, and the same by the library: :mod:`.beside` compares them.

The README beside this module says which programs, at which commit, and how they ran; each module holds the inputs and
outputs of one of them and computes the outputs again.
"""
