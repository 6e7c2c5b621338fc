"""Motion limiters: the tip-over governor with its prediction of stops, and the grip governor of vehicles."""
