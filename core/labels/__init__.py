"""What people say of cases: rounds, order, agreement, consensus."""
