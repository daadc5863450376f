# noqa: A005
