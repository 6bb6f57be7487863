"""``python -m sklearn_smart``."""

import sys

from .cli import main

sys.exit(main())
