"""The machine learning of EasyLoop: task types as plug-ins, without I/O to bus, stores or HTTP."""
