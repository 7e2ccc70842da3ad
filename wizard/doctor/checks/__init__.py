"""The checks, a file per group: pure functions from `wizard.doctor.facts.Facts` to a finding."""
