"""What a user of EasyLoop installs: the Python client (`easyloop.client.Client`) and the command line `easyloop`."""
