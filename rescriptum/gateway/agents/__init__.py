"""The gateway's side towards agents: joining, sessions, their frames and what they ask for."""
