"""What is asked of a certificate on either side of a pin: whose key it has, and may it sign."""

from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509 import BasicConstraints, Certificate, ExtensionNotFound

from .pins import Pin


def certificate_pin(certificate: Certificate) -> Pin:
    """:returns: of the SubjectPublicKeyInfo, which a renewed certificate keeps."""
    key = certificate.public_key()
    return Pin.of_spki(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo))


def is_authority(certificate: Certificate) -> bool:
    """:returns: whether it says of itself that it may issue others (RFC 5280 section 4.2.1.9)."""
    try:
        return certificate.extensions.get_extension_for_class(BasicConstraints).value.ca
    except ExtensionNotFound:
        return False
