"""What methods that approximate an SVM share: rows to fit to, the SVM as a field, bounds on errors."""
