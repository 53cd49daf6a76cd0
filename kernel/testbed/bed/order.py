"""Which series there are, in the order in which they build on one another."""

from . import source

ORDER = ('dirty-run', 'arm64-leaf-walk', 'arm64-hdbss', 'arm64-hacdbs')


def there():
    return [name for name in ORDER if (source.SERIES / name).is_dir()]


def levels():
    """'', 'a', 'a,b', ...: what is built and compared."""
    names = there()
    return [','.join(names[:i]) for i in range(len(names) + 1)]
