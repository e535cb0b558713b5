"""Requests that a site agent makes for the control plane, to machines that have no agent."""
