"""A broken file is refused in one line: the place, what was expected, and what was found instead."""

from __future__ import annotations

import pytest

import verite as vt
from tests.formats.samples import DATA, FORMATS, sample

# File or folder, place in it, expectation, finding. FILE stands for the path itself.
BROKEN = {
    "coco": [
        ("absurd_image.json", ": images[0]", "a width and height of at most 65535 pixels", "70000 x 480"),
        ("absurd_mask.json", ": annotations[0].segmentation", "sides from 1 to 65535", "3000000000 at byte 265"),
        ("deep.json", ":5", "at most 64 levels of nesting", "more at byte 312"),
        ("deep_with_brackets_in_text.json", ":5", "at most 64 levels of nesting", "more at byte 3316"),
        ("empty.json", ":1", "a whole JSON document", "the file is empty at byte 0"),
        ("empty_class_name.json", ": categories[0].name", "a class name of 1 to 512 characters", "an empty one"),
        ("far_polygon.json", ": annotations[0].segmentation", "coordinates up to 10000000", "a larger one at byte 272"),
        ("half_of_the_names.json", ": categories[1]", "a key 'name'", "none"),
        ("huge_id.json", ": annotations[0].id", "an integer of 64 bits", "1000000000000000000000000000000 at byte 145"),
        ("ids_of_two_kinds.json", ": images[1].id", "a number as in the records before", "text at byte 85"),
        ("image_id_as_text.json", ": annotations[0].image_id", "an id out of images", "'7'"),
        ("missing_categories.json", ": top level", "a key 'categories'", "none"),
        ("missing_image_id.json", ": annotations[0]", "the key image_id", "none at byte 138"),
        ("nan_elsewhere.json", ":5", "a value", "NaN at byte 261"),
        ("nan_in_polygon.json", ": annotations[0].segmentation", "a value", "NaN at byte 272"),
        ("nan_width.json", ": images[0].width", "a number", "NaN at byte 57"),
        ("negative_image.json", ": images[0]", "a width and height from 0", "-640 x 480"),
        ("negative_run.json", ": annotations[0].segmentation", "runs from 0 to 500000000", "-2 at byte 286"),
        ("no_json.json", ":1", "an object with sections or an array of results", "'<' at byte 0"),
        ("no_region.json", ": annotations[0]", "a bbox or a segmentation", "neither"),
        ("not_utf8.json", ": categories[0].name", "UTF-8 text", "'t' inside a character at byte 115"),
        (
            "odd_polygon.json",
            ": annotations[0].segmentation",
            "a ring of 3 points or more as pairs of numbers (V408)",
            "7 numbers at byte 256",
        ),
        (
            "polygon_of_two_points.json",
            ": annotations[0].segmentation",
            "a ring of 3 points or more as pairs of numbers (V408)",
            "4 numbers at byte 256",
        ),
        ("repeated_category.json", "", "each id once in categories", "3 in categories[0] and categories[1]"),
        ("repeated_image.json", "", "each id once in images", "7 in images[0] and images[1]"),
        (
            "runs_text_no_runs.json",
            ": annotations[0].segmentation",
            "characters from '0' to 'o' in counts",
            "another at byte 282",
        ),
        (
            "runs_text_too_long.json",
            ": annotations[0].segmentation",
            "runs of 3 x 4 = 12 pixels (V405)",
            "15 at byte 255",
        ),
        ("runs_too_short.json", ": annotations[0].segmentation", "runs of 3 x 4 = 12 pixels (V405)", "7 at byte 255"),
        ("text_in_bbox.json", ": annotations[0].bbox", "a number", "a string at byte 198"),
        ("three_numbers_in_bbox.json", ": annotations[0].bbox", "4 numbers in bbox", "3 at byte 204"),
        ("too_many_pixels.json", ": images[0]", "at most 500,000,000 pixels", "60000 x 60000"),
        ("top_level_array.json", ": top level", "an object", "an array"),
        ("truncated.json", ":4", "a whole JSON document", "the file ends at byte 182 inside annotations[0]"),
        ("unknown_category.json", ": annotations[0].category_id", "an id out of categories", "4"),
        ("width_without_height.json", ": images[0]", "both width and height or neither", "640 x 0"),
    ],
    "coco_results": [
        ("deep.json", ": results[0]", "an object", "an array at byte 1"),
        ("empty.json", ":1", "a whole JSON document", "the file is empty at byte 0"),
        ("ids_of_two_kinds.json", ": results[1].image_id", "a number as in the records before", "text at byte 92"),
        ("missing_category.json", ": results[1]", "the key category_id", "none at byte 79"),
        ("nan_image.json", ": results[1].image_id", "a number", "NaN at byte 92"),
        ("no_region.json", ": results[1]", "a bbox or a segmentation", "neither"),
        ("not_utf8.json", ": results[1].image_id", "a number as in the records before", "text at byte 93"),
        ("object.json", ": top level", "an array", "an object"),
        ("runs_too_short.json", ": results[1].segmentation", "runs of 3 x 4 = 12 pixels (V405)", "7 at byte 172"),
        ("score_as_text.json", ": results[1].score", "a number", "a string at byte 150"),
        ("truncated.json", ":1", "a whole JSON document", "the file ends at byte 99 inside results[1]"),
    ],
    "cvat": [
        ("too_many_frames.xml", ":1", "at most 1,000,000 frames in <size>", "999,999,999"),
        ("track_before_the_start.xml", ":3", "the number of a frame, from 0", "-1"),
        ("track_without_frame.xml", ":3", "an attribute 'frame' of <box>", "none"),
        ("absurd_width.xml", ":4", "a width and height of at most 65535 pixels", "99999 x 480"),
        ("doctype.xml", ":1", "XML without a DOCTYPE", "one"),
        ("empty.xml", ":1", "well-formed XML", "the end of the file"),
        ("empty_name.xml", ":3", "a class name of 1 to 512 characters", "an empty one"),
        ("half_a_pixel.xml", ":4", "whole pixels in 'width'", "640.5"),
        ("mask_outside.xml", ":5", "a mask inside the image of 4 x 3", "2 x 2 at 3, 0"),
        ("mask_without_left.xml", ":5", "an attribute 'left' of <mask>", "none"),
        ("nan_in_points.xml", ":5", "coordinates up to 10000000", "nan"),
        ("negative_run.xml", ":5", "whole numbers in 'rle'", "'-1'"),
        ("no_image.xml", ":1", "at least one <image> or <track> in <annotations>", "none"),
        ("no_side.xml", ":5", "an attribute 'ybr' of <box>", "none"),
        ("no_width.xml", ":4", "an attribute 'width' of <image>", "none"),
        ("not_utf8.xml", ":5", "UTF-8 text", "byte 0xe5 at position 224"),
        ("odd_point.xml", ":5", "points 'x,y;x,y;…'", "'5'"),
        ("one_image_twice.xml", ":7", "each image once", "a second 'pier.jpg'"),
        ("other_root.xml", ":1", "<annotations>", "<annotation>"),
        ("polygon_of_two_points.xml", ":5", "an even number of coordinates, at least 6 (V408)", "4"),
        ("runs_too_short.xml", ":5", "runs of 2 x 2 = 4 pixels (V405)", "runs that add up to 2"),
        ("truncated.xml", ":5", "well-formed XML", "the end of the file inside a tag"),
        ("word.xml", ":5", "a number in 'ybr'", "'sixty'"),
        ("word_in_points.xml", ":5", "a number in 'points'", "'four'"),
        ("word_in_runs.xml", ":5", "whole numbers in 'rle'", "'two'"),
    ],
    "labelme": [
        ("absurd_width.json", "", "a width and height of at most 65535 pixels", "99999 x 4"),
        ("circle_of_one_point.json", ": shapes[0].points", "2 points, the centre of a circle and one on it", "1"),
        ("deep.json", "", "at most 64 levels of nesting", "more"),
        ("empty.json", "", "a whole JSON document", "the end of the file at byte 0"),
        ("empty_label.json", ": shapes[0]", "a class name of 1 to 512 characters", "an empty one"),
        ("far_point.json", ": shapes[0].points", "coordinates up to 10000000", "18000000000.0"),
        ("flag_as_text.json", ": shapes[0].flags.difficult", "true or false", "'no'"),
        ("nan.json", ": shapes[0].points[2][1]", "a number", "nan"),
        ("no_points.json", ": shapes[0]", "a key 'points'", "none"),
        ("no_shapes.json", ": top level", "a key 'shapes'", "none"),
        ("not_utf8.json", ":3", "UTF-8 text", "byte 0xe5 at position 60"),
        ("one_image_twice", "/b.json", "each image once", "a second 'pier.jpg'"),
        ("polygon_of_two_points.json", ": shapes[0].points", "an even number of coordinates, at least 6 (V408)", "4"),
        ("rectangle_of_three_points.json", ": shapes[0].points", "2 or 4 corners of a rectangle", "3"),
        ("text_in_points.json", ": shapes[0].points[2][1]", "a number", "text"),
        ("three_coordinates.json", ": shapes[0].points[2]", "2 values", "another number of them"),
        ("top_level_array.json", ": top level", "an object", "an array"),
        ("truncated.json", "", "a whole JSON document", "the end of the file at byte 197"),
        ("width_without_height.json", "", "both width and height or neither", "640 x 0"),
    ],
    "coco_folder": [
        ("an_array", "/_annotations.coco.json: top level", "an object", "an array"),
        ("no_categories", "/_annotations.coco.json: top level", "a key 'categories'", "none"),
        ("not_utf8", "/_annotations.coco.json: categories[0].name", "UTF-8 text", "'b' inside a character at byte 295"),
        ("nothing", "", "_annotations.coco.json", "none"),
        (
            "truncated",
            "/_annotations.coco.json:1",
            "a whole JSON document",
            "the file ends at byte 150 inside images[1]",
        ),
        ("two_splits", "", "one part of the data set", "train, valid"),
    ],
    "data_yaml": [
        ("a_map.yaml", ":1", "a folder", "'{a: b}'"),
        ("images", "/data.yaml", "a readable file", "no such file or directory"),
        ("key_twice.yaml", ":2", "each key once", "a second 'val'"),
        ("labels", "/data.yaml", "a readable file", "no such file or directory"),
        ("no_folder.yaml", "", "a folder BROKEN/images/elsewhere", "nothing"),
        ("no_labels.yaml", "", "labels such as BROKEN/labels/val/pier.txt", "none for any picture"),
        ("no_names.yaml", "", "one key 'names'", "none"),
        ("no_pictures.yaml", "", "pictures in labels", "none"),
        ("no_split.yaml", "", "one of the keys train, val, valid, test", "none"),
        ("two_splits.yaml", "", "one part of the data set", "train, val"),
    ],
    "coco_rotated": [
        ("four_and_five.json", "", "five numbers in every box", "1 of 2 with four or none"),
        ("no_class.json", ": annotations[0]", "the key category_id", "none"),
        ("six_numbers.json", ": annotations[0].bbox", "4 numbers in bbox, or 5 of a rotated box", "more"),
        ("three_numbers.json", ": annotations[0].bbox", "4 numbers in bbox", "3"),
        ("unknown_image.json", ": annotations[0].image_id", "an id out of images", "2"),
        ("word.json", ": annotations[0].bbox", "a number", "a string"),
    ],
    "dota": [
        ("blank_in_name.txt", ":1", "8 numbers, a class and a difficulty", "11 words"),
        ("mixed", "/zz.txt", "Task1_CLASS.txt as Task1_plane.txt", "zz.txt"),
        ("nan.txt", ":1", "coordinates up to 10000000", "nan"),
        ("no_class.txt", ":1", "8 numbers, a class and a difficulty", "8 words"),
        ("odd_difficulty.txt", ":1", "a difficulty of 0, 1 or 2", "'very'"),
        ("task2", "/Task1_plane.txt:1", "an image, a confidence and 8 numbers", "6 words"),
        ("word.txt", ":1", "a number", "'ten'"),
    ],
    "json_lines": [
        ("array.jsonl", ": results[0]", "an object", "an array"),
        ("empty_object.jsonl", ": results[1]", "the key image_id, category_id", "none"),
        ("missing_category.jsonl", ": results[1]", "the key category_id", "none"),
        ("no_region.jsonl", ": results[0]", "a bbox or a segmentation", "neither"),
        ("score_as_text.jsonl", ": results[0].score", "a number", "a string"),
        ("truncated.jsonl", ":2", "a whole JSON document", "the file ends inside results[1]"),
    ],
    "kitti": [
        (
            "blank_in_type.txt",
            ":2",
            "TYPE TRUNCATED OCCLUDED ALPHA X1 Y1 X2 Y2 and 7 numbers, 8 with a score",
            "17 words",
        ),
        ("decimal_comma.txt", ":1", "a number", "'599,41'"),
        ("eight_words.txt", ":2", "TYPE TRUNCATED OCCLUDED ALPHA X1 Y1 X2 Y2 and 7 numbers, 8 with a score", "8 words"),
        ("not_utf8.txt", ":2", "UTF-8 text", "byte 0xe5 at position 84"),
        ("now_and_then_a_score.txt", ":2", "no confidence as in FILE:1", "one"),
        ("one_image_twice", "/b/1.txt", "each image once", "a second '1'"),
        ("word.txt", ":2", "a number", "'left'"),
    ],
    "datumaro": [
        ("no_bbox.json", ": items[0].annotations[0]", "a key 'bbox'", "none"),
        ("no_labels.json", ": categories", "a key 'label'", "none"),
        ("one_image_twice.json", ": items[2]", "each image once", "a second 'pier.jpg'"),
        (
            "runs_too_short.json",
            ": items[0].annotations[2]",
            "runs of 3 x 4 = 12 pixels (V405)",
            "runs that add up to 5",
        ),
        ("three_numbers.json", ": items[0].annotations[0].bbox", "4 values", "another number of them"),
        ("truncated.json", "", "a whole JSON document", "the end of the file at byte 300"),
        ("two_points.json", ": items[0].annotations[1]", "an even number of coordinates, at least 6 (V408)", "4"),
        ("unknown_label.json", ": items[0].annotations[0]", "a label_id from 0 to 1, as there are labels", "2"),
        ("word.json", ": items[0].annotations[0].bbox[3]", "a number", "text"),
    ],
    "label_studio": [
        (
            "brush_cut_off.json",
            ": [0].result[0]",
            "a brush mask of 3 x 5 pixels (V405)",
            "10 bytes, which end too soon",
        ),
        ("brush_of_another_size.json", ": [0].result[0]", "a brush mask of 3 x 6 pixels (V405)", "60 bytes"),
        ("brush_of_words.json", ": [0].result[0]", "a brush mask of 3 x 5 pixels (V405)", "\"['a']\""),
        ("half_a_pixel.json", ": [0]", "whole pixels", "200.5"),
        ("no_data.json", ": [0]", "a key 'data'", "none"),
        ("no_image.json", ": [0].data", "the path of an image", "\"{'text': 'a pier'}\""),
        ("no_size.json", ": [0].result[0]", "original_width and original_height", "none"),
        ("no_width.json", ": [0].result[0].value", "a number 'width'", "none"),
        ("object.json", ": top level", "an array", "an object"),
        ("one_image_twice.json", ": [1]", "each image once", "a second 'pier.jpg'"),
        ("truncated.json", "", "a whole JSON document", "the end of the file at byte 300"),
        ("two_points.json", ": [0].result[0]", "an even number of coordinates, at least 6 (V408)", "4"),
        ("word_in_points.json", ": [0].result[0].value", "points of two numbers each", '"[[0, 0], [1, 1], ['),
    ],
    "mot": [
        ("class_13", "/gt/gt.txt:1", "a class from 1 to 12", "13.0"),
        ("far_frame.txt", ":2", "the number of a frame, from 1", "'99999999'"),
        (
            "four_numbers.txt",
            ":2",
            "7 to 10 numbers with commas between them, FRAME,ID,LEFT,TOP,WIDTH,HEIGHT,CONFIDENCE",
            "4",
        ),
        ("frame_zero.txt", ":2", "the number of a frame, from 1", "'0'"),
        ("half_a_frame.txt", ":2", "the number of a frame, from 1", "'1.5'"),
        ("too_long", "/seqinfo.ini", "at most 1,000,000 frames", "999,999,999"),
        ("word.txt", ":2", "a number", "'wide'"),
    ],
    "openimages_masks": [
        ("no_column", "/masks.csv:1", "a column BoxYMax", "'MaskPath,ImageID,LabelName,BoxXMin,BoxXMax,BoxYMin'"),
        ("no_label", "/masks.csv:2", "a class name of 1 to 512 characters", "an empty one"),
        ("no_picture", "/masks.csv:2", "a PNG 'b.png' below FILE", "none"),
        ("not_a_picture", "/a.png", "a picture", "cannot identify image file"),
        ("two_sizes", "/masks.csv:3", "masks of 4 x 2 in pier", "2 x 2 in FILE/b.png"),
        ("word", "/masks.csv:2", "a number in BoxXMin", "'left'"),
    ],
    "results_object": [
        ("no_predictions.json", ": top level", "a key 'predictions'", "none"),
        ("number.json", ":1", "an object with sections or an array of results", "a number"),
        ("missing_category.json", ": results[0]", "the key category_id", "none"),
        ("no_region.json", ": results[0]", "a bbox or a segmentation", "neither"),
        ("score_as_text.json", ": results[0].score", "a number", "a string"),
        ("truncated.json", "", "a whole JSON document", "the end of the file at byte 60"),
    ],
    "table": [
        ("cell_missing.csv", ":3", "6 cells as in the header", "5"),
        (
            "no_height.csv",
            "",
            "columns x, y, width, height or x1, y1, x2, y2 or bbox",
            "'image_id, label, x, y, width'",
        ),
        ("no_image.csv", "", "a column image_id, image or file_name", "'imageid, label, x, y, width, height'"),
        ("no_image_id.csv", ": row 2", "a value in image_id", "none"),
        ("no_label.csv", ": row 2", "a value in label", "none"),
        ("odd_flag.csv", ": row 2", "0 or 1 in iscrowd", "2.0"),
        ("two_names.csv", ": row 3", "'boat', as this class id has", "'gull'"),
        ("word.csv", ": row 2", "a number in y", "'wide'"),
    ],
    "via": [
        ("cell.csv", ":2", "a JSON object in region_shape_attributes", "'rect'"),
        (
            "no_class.json",
            "",
            "one region attribute that all shapes have, or label, class, name, type or category",
            "'colour, size'",
        ),
        ("no_filename.json", ": [...]", "a key 'filename'", "none"),
        ("no_number.json", ": pier.jpg1.regions[0].shape_attributes", "a number 'cy'", "'None'"),
        ("no_width.json", ": pier.jpg1.regions[0].shape_attributes", "a number 'width'", "none"),
        ("one_image_twice.json", ": b", "each image once", "a second 'fog.jpg'"),
        ("truncated.json", "", "a whole JSON document", "the end of the file at byte 200"),
        ("two_points.json", ": pier.jpg1.regions[0]", "an even number of coordinates, at least 6 (V408)", "4"),
        (
            "uneven_points.json",
            ": pier.jpg1.regions[0].shape_attributes",
            "lists all_points_x and all_points_y of one length",
            "others",
        ),
        ("word.json", ": pier.jpg1.regions[0].shape_attributes", "a number 'x'", "'left'"),
        (
            "word_in_points.json",
            ": pier.jpg1.regions[0].shape_attributes",
            "numbers in all_points_x and all_points_y",
            "others",
        ),
    ],
    "wider": [
        ("cut_off.txt", "", "3 faces of 0--Parade/a.jpg", "the end of the file"),
        ("name_alone.txt", ":2", "the number of faces", "the end of the file"),
        ("negative_number.txt", ":2", "the number of faces", "'-1'"),
        ("no_number.txt", ":2", "the number of faces", "'449 330 122 149 0 0 0 0 0 0'"),
        ("one_image_twice.txt", ":4", "each image once", "a second '0--Parade/a.jpg'"),
        ("three_numbers.txt", ":3", "10 numbers per face, 5 of a prediction", "3 ('449 330 122')"),
        ("word.txt", ":3", "a number", "'wide'"),
    ],
    "openimages": [
        ("cell_missing.csv", ":3", "7 cells as in the header", "6"),
        ("empty.csv", ":1", "a column ImageID", "an empty file"),
        ("empty_cell.csv", ":3", "a number in XMax", "''"),
        ("no_class.csv", ":3", "a class name of 1 to 512 characters", "an empty one"),
        ("no_column.csv", ":1", "a column YMax", "'ImageID,LabelName,XMin,XMax,YMin,Ymx,IsGroupOf'"),
        ("no_label.csv", ":3", "the name of an image", "an empty one"),
        ("not_utf8.csv", ":3", "UTF-8 text", "byte 0xe5 at position 81"),
        ("now_and_then_a_score.csv", ":3", "a confidence as in FILE:2", "none"),
        ("odd_flag.csv", ":3", "1, 0 or -1 in IsGroupOf", "'7'"),
        ("column_twice.csv", ":1", "each column once", "a second 'xmin'"),
        ("open_quote.csv", ":3", "CSV", "unexpected end of data"),
        ("two_files", "", "one CSV file", "2"),
        ("word.csv", ":3", "a number in XMax", "'half'"),
    ],
    "text": [
        ("blank_in_name.txt", ":1", "a class and 4 or 5 numbers", "7 words ('fishing boat 0.5 1 2 3 4')"),
        ("decimal_comma.txt", ":1", "a number", "'1,5'"),
        ("four_words.txt", ":2", "a class and 4 or 5 numbers", "4 words ('boat 1 2 3')"),
        ("long_name.txt", ":1", "a class name of 1 to 512 characters", "600, 'bbbbbbbbbbbbbbbbbbbb'…"),
        ("not_utf8.txt", ":2", "UTF-8 text", "byte 0xe5 at position 14"),
        ("now_and_then_a_confidence.txt", ":2", "no confidence as in FILE:1", "one"),
        ("one_image_twice", "/sub/pier.txt", "each image once", "a second 'pier'"),
        ("only_lists", "", "annotation files ending in .txt", "only lists of classes or images"),
        ("underscore.txt", ":1", "a number", "'3_0'"),
        ("word.txt", ":1", "a number", "'three'"),
    ],
    "voc": [
        ("absurd_width.xml", ":1", "a width and height of at most 65535 pixels", "640000 x 480"),
        ("deep.xml", ":1", "at most 64 levels of nesting", "more"),
        ("doctype.xml", ":1", "XML without a DOCTYPE", "one"),
        ("empty.xml", ":1", "well-formed XML", "the end of the file"),
        ("empty_name.xml", ":4", "a class name of 1 to 512 characters", "an empty one"),
        ("entity_bomb.xml", ":1", "XML without a DOCTYPE", "one"),
        ("half_a_pixel.xml", ":3", "whole pixels in <width>", "640.5"),
        ("long_name.xml", ":4", "a class name of 1 to 512 characters", "600, 'bbbbbbbbbbbbbbbbbbbb'…"),
        ("nan_width.xml", ":3", "whole pixels in <width>", "nan"),
        ("no_box.xml", ":4", "<bndbox> in <object>", "none"),
        ("no_height.xml", ":3", "<height> in <size>", "none"),
        ("no_name.xml", ":4", "<name> in <object>", "none"),
        ("no_side.xml", ":5", "<ymax> in <bndbox>", "none"),
        ("not_utf8.xml", ":5", "UTF-8 text", "byte 0xe5 at position 121"),
        ("one_image_twice", "/b.xml:1", "each image once", "a second 'pier.jpg'"),
        ("other_root.xml", ":1", "<annotation>", "<note>"),
        ("truncated.xml", ":6", "well-formed XML", "the end of the file inside a tag"),
        ("underscore_in_box.xml", ":5", "a number in <xmax>", "'4_0'"),
        ("unknown_encoding.xml", "", "an encoding that XML readers know", "unknown encoding: klingon"),
        ("unknown_entity.xml", ":5", "well-formed XML", "undefined entity"),
        ("word_in_box.xml", ":5", "a number in <xmax>", "'forty'"),
    ],
    "yolo_pose": [
        (
            "no_box",
            "/labels/a.txt:1",
            "a class and 4 numbers, 5 with a confidence, or a polygon of at least 3 points",
            "3 words",
        ),
        ("no_shape", "", "kpt_shape in data.yaml, or lines of a box and keypoints", "neither"),
        (
            "too_few",
            "/labels/a.txt:1",
            "a class, 4 numbers and 2 keypoints of 3 numbers, as kpt_shape says (V420)",
            "8 words",
        ),
        (
            "too_many",
            "/labels/a.txt:1",
            "a class, 4 numbers and 1 keypoints of 2 numbers, as kpt_shape says (V420)",
            "9 words",
        ),
        ("unknown_class", "/labels/a.txt:1", "a class number from 0 to 0, as there are names (V206)", "1"),
        ("word", "/labels/a.txt:1", "a number", "'x'"),
    ],
    "yolo": [
        ("class_name.txt", ":2", "a class number", "'boat'"),
        ("class_without_name", "/pier.txt:2", "a class number from 0 to 1, as there are names (V206)", "2"),
        ("empty_line_in_names", "/classes.txt:2", "a class name a line", "an empty line"),
        (
            "four_words.txt",
            ":2",
            "a class and 4 numbers, 5 with a confidence, or a polygon of at least 3 points",
            "4 words ('0 0.5 0.5 0.25')",
        ),
        ("fraction_class.txt", ":2", "a class number", "'0.0'"),
        ("huge_class.txt", ":2", "a class number", "'999999999999999999999999999999'"),
        ("name_twice", "/classes.txt", "each class name once", "'boat' twice"),
        ("names_cut_off", "/data.yaml:1", "names up to a ']'", "the end of the file"),
        ("names_empty", "/classes.txt", "class names", "an empty file"),
        ("names_nested", "/data.yaml:2", "a class name", "'[boat, gull]'"),
        ("names_not_utf8", "/obj.names:1", "UTF-8 text", "byte 0xe5 at position 1"),
        ("names_one_text", "/data.yaml:1", "a list or map of class names", "'boat'"),
        ("names_unnumbered", "/data.yaml:3", "'- NAME' or 'NUMBER: NAME'", "'gull'"),
        ("names_with_a_gap", "/data.yaml:1", "class numbers 0 to 1, each once", "2"),
        ("nan_in_polygon.txt", ":1", "coordinates up to 10000000", "nan"),
        ("negative_class.txt", ":2", "a class number", "'-1'"),
        ("no_name_at_all", "/data.yaml:1", "class names", "none"),
        ("no_names", "/data.yaml", "one key 'names'", "none"),
        ("not_utf8.txt", ":2", "UTF-8 text", "byte 0xff at position 26"),
        ("now_and_then_a_confidence.txt", ":2", "no confidence as in FILE:1", "one"),
        ("odd_polygon.txt", ":2", "no confidence as in FILE:1", "one"),
        ("one_image_twice", "/labels/val/pier.txt", "each image once", "a second 'pier'"),
        ("word.txt", ":2", "a number", "'half'"),
    ],
}

CASES = [(folder, *case) for folder, cases in BROKEN.items() for case in cases]


@pytest.mark.parametrize(
    ("folder", "name", "place", "expected", "found"), CASES, ids=lambda value: value.split()[0] if value else ""
)
def test_broken_file_is_named_with_place_expectation_and_finding(folder, name, place, expected, found):
    path = sample(folder, "broken", name)
    with pytest.raises(vt.ReadError) as caught:
        _ = vt.read(path, format=FORMATS[folder]).regions.outlines  # polygons and masks are read when asked for
    message = str(caught.value)
    assert message.isprintable()  # one line, and nothing in it that a terminal could take for a command
    assert message.startswith(
        f"{path}{place}: expected {expected}, found {found}".replace("FILE", str(path)).replace(
            "BROKEN", str(path.parent)
        )
    )


@pytest.mark.parametrize("folder", FORMATS)
def test_every_broken_sample_is_tested_and_there_are_enough(folder):
    there = {path.name for path in (DATA / folder / "broken").iterdir()}
    assert there == {name for name, *_ in BROKEN[folder]}
    assert len(there) >= 6


def test_hint_follows_where_there_is_one():
    with pytest.raises(vt.ReadError, match=r"; was it cut off\? \(V403\)$"):
        vt.read(sample("coco", "broken", "truncated.json"))
    with pytest.raises(
        vt.ReadError, match=r"; ids are text in one place and numbers in the other \(V212\), images\[0\] has 7$"
    ):
        vt.read(sample("coco", "broken", "image_id_as_text.json"))
    with pytest.raises(vt.ReadError, match=r"; did you mean 'Ymx'\? \(V415\)$"):
        vt.read(sample("openimages", "broken", "no_column.csv"), format="openimages")


def test_csv_cell_without_end_is_refused(tmp_path):
    path = tmp_path / "boxes.csv"
    path.write_text("ImageID,LabelName,XMin,XMax,YMin,YMax\n" + "p" * 200_000 + ",boat,0,1,0,1\n")
    with pytest.raises(
        vt.ReadError, match=r"boxes.csv:2: expected CSV, found field larger than field limit \(131072\)"
    ):
        vt.read(path)


def test_text_in_an_xml_element_is_bounded(tmp_path, monkeypatch):
    path = tmp_path / "a.xml"
    path.write_text("<annotation>" + "x<i/>" * 1001 + "</annotation>")
    assert len(vt.read(path)) == 0
    monkeypatch.setenv("VERITE_LIMIT_XML_TEXT", "1000")
    with pytest.raises(vt.ReadError, match="at most 1000 characters in <annotation>, found more"):
        vt.read(path)


def test_brackets_in_texts_are_no_nesting(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('{"images": [], "annotations": [], "categories": [{"id": 1, "name": "' + "[" * 100 + '"}]}')
    assert vt.read(path).labels.names == ("[" * 100,)


def test_limit_can_be_raised(monkeypatch):
    monkeypatch.setenv("VERITE_LIMIT_JSON_DEPTH", "100")
    assert len(vt.read(sample("coco", "broken", "deep.json"))) == 1
