"""The official conformance suites, and the server that has what they ask for."""
