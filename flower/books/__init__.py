"""What flower remembers: sessions, lineage, manifest, project identity and locks, all of it in ``run_dir``.

Nothing is imported here, so that looking at one book does not load the others.
"""
