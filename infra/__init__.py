"""How EasyLoop is run: the local stack, the bus, containers and clusters."""
