"""placeholder until the splitter arrives"""
