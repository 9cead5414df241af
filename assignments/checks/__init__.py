"""One module per problem set: its checks, references, mistakes and alternatives."""
