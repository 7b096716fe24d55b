"""The image of EasyLoop and what runs in it beside the services."""
