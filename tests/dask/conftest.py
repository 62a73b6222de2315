from clusters import client, cluster

__all__ = ["client", "cluster"]
