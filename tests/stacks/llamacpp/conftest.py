from tests.chat.conftest import served

__all__ = ["served"]
