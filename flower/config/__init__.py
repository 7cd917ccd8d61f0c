"""Configuration: `.env` files, credentials, the endpoint, the start probe and the check for a newer
version.
"""
