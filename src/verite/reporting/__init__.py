"""Pictures and pages for people; the only place that knows matplotlib."""
