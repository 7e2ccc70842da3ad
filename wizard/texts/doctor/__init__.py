"""Texts of the checks of `wizard.doctor`: a finding in sentences, and all findings as a report."""
