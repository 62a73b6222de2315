def register(commands):
    pass
