"""The page: Gradio blocks around one player component. The only package that knows Gradio."""
