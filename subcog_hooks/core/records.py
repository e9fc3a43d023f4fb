"""Records: classes of annotated fields with a constructor. Loading `dataclasses` costs a hook more than all its records."""

TYPE_CHECKING = False
__all__ = ["record", "replace"]
if TYPE_CHECKING:
    from dataclasses import dataclass as record
    from dataclasses import replace
else:

    def record(cls):
        """Give a class a constructor that takes its annotated fields by position or by name, then calls `__post_init__`.

        Raises TypeError.

        >>> @record
        ... class Point:
        ...     x: float
        ...     y: float = 0.0
        >>> Point(1.0).y, Point(y=2.0, x=1.0).y
        (0.0, 2.0)
        """
        names = tuple(cls.__annotations__)
        prepare = getattr(cls, "__post_init__", None)
        defaults = {name: vars(cls)[name] for name in names if name in vars(cls)}
        needed = cls.__annotations__.keys() - defaults

        def construct(self, *values, **named):
            fields = vars(self)
            fields.update(defaults)  # A function would be a method as an attribute of the class.
            fields.update(zip(names, values, strict=False), **named)
            if not needed <= fields.keys() or len(values) > len(names) or not named.keys() <= cls.__annotations__.keys():
                raise TypeError(f"{cls.__name__} has the fields {', '.join(names)}, not {', '.join(fields)}")
            if prepare:
                prepare(self)

        cls.__init__ = construct
        return cls

    def replace(value, **changes):
        """Return a copy of a record with these fields changed."""
        return type(value)(**{**vars(value), **changes})
