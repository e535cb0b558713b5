"""Redfish (DMTF DSP0266): decisions over documents, and a client that performs them."""
