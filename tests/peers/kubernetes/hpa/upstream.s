// Without a file of assembly, the compiler takes no function that has no body.
