"""The local stack: every server and service of EasyLoop on one machine, without containers."""
