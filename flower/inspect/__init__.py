"""Looking at the books: from files to values. Rendering is the command line's business."""
