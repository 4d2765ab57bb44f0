"""What people would pick instead, each as its own documentation says."""
