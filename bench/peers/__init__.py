"""What Millstream is measured against."""
